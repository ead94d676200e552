-- Collectives of a step in the order in which most is waited; one is identified by its position.
waited_ns DESC, communicator, operation, sender, receiver, sequence, occurrence
