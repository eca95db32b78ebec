"""Version 5 of the tables: what tells that a database has lost something, and whom a delivery goes to."""

from typing import Final

VERSION_5: Final = """
-- `commits` counts what was ever committed, and `store` names the database. The mark beside the file
-- holds both as they were durable, so that a start can compare.
insert into meta values ('commits', 0), ('store', lower(hex(randomblob(16))));

-- Receivers wait for nobody but themselves, so what is due is looked for receiver by receiver.
alter table outbox add column receiver text not null default '';
update outbox set receiver = (
    select substr(callback_url, 1, instr(substr(callback_url, 9) || '/', '/') + 7)
    from jobs where jobs.number = outbox.job
);
drop index outbox_due;
create index outbox_due on outbox (topic, receiver, next_us) where state = 'pending';
"""
