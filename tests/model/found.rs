//! Differences that were found, shrunk.
