"""What an inference will get and what it got: plans, receipts and the documents around them."""
