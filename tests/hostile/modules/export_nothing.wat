;; Exports nothing at all: every missing export is named at once.
(module)
