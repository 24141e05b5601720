"""The options of each job, in pure Python: what the command line, the forms of DAGs and the job itself share."""
