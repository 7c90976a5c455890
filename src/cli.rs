//! say, tail, why.
