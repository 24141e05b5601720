"""The one merge of a lake: events of the log into its tables, whatever they are made of."""
