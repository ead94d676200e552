-- What distinguishes collectives.
communicator, operation, sender, receiver, sequence, step, occurrence
