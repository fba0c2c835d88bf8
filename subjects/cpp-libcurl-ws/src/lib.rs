//! Holds libcurl for the C++ program beside it.

extern crate curl_sys;
