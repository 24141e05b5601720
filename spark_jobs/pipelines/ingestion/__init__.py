"""Deliveries of change events into the log and the quarantine: new ones, those read again, and replays."""
