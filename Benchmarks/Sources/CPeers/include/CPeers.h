#ifndef ERRAND_C_PEERS_H
#define ERRAND_C_PEERS_H

#include <stddef.h>
#include <stdint.h>

/// Finds the next `byte`: the C library's memchr. Returns `count` if there is none.
size_t errand_peer_find_byte(const uint8_t *bytes, size_t count, uint8_t byte);

/// Finds the next `pattern`: the C library's memmem. Returns `count` if there is none.
size_t errand_peer_find(const uint8_t *bytes, size_t count, const uint8_t *pattern, size_t pattern_count);

/// Compresses with zlib's gzip at its default level. Returns the number of bytes; 0 if they don't fit.
size_t errand_peer_gzip(const uint8_t *bytes, size_t count, uint8_t *output, size_t output_count);

/// Decodes gzip by zlib alone, in pieces of `piece` bytes, into an output of 64 KiB that each step overwrites. Returns the number of decoded bytes; 0 if
/// the input is invalid.
size_t errand_peer_gunzip(const uint8_t *bytes, size_t count, size_t piece);

/// Does nothing. What it gets must have been made: the compiler can't leave that out.
void errand_peer_keep(const void *bytes);

#endif
