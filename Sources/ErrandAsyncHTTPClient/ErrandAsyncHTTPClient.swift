#if AsyncHTTPClient
internal import AsyncHTTPClient
internal import NIOSSL
#endif
