#if MockServer
#endif
