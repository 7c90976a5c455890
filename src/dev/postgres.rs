//! A Postgres server of our own in a state folder, for `parlor dev` and the tests: made, started and stopped with the process.
