-- What is stored of a question with feedback, to know one like it: see stores/logs/feedback.py. Earlier
-- entries have nothing, and concern the same question alone.
ALTER TABLE feedback ADD COLUMN asked TEXT;
