-- How many machines may still come with a token for agents; none: as many as there are.
ALTER TABLE tokens ADD COLUMN uses_left INTEGER;
-- Zone and labels of machines that come with it, as JSON; none where it says nothing of them.
ALTER TABLE tokens ADD COLUMN place TEXT;
