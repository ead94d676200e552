-- Collectives of a step, those first in which most is waited and last those that ranks do not end
-- together; one is identified by its position.
ends_together DESC, waited_ns DESC, communicator, operation, sender, receiver, sequence, occurrence
