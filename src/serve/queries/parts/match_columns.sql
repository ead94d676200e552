-- What collectives are told apart by.
communicator, operation, sender, receiver, sequence, step, occurrence
