// Stands where the law of a user would: these tests read it, and do not run it.
