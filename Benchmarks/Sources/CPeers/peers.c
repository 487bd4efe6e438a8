#define _GNU_SOURCE
#include "CPeers.h"

#include <string.h>
#include <zlib.h>

size_t errand_peer_find_byte(const uint8_t *bytes, size_t count, uint8_t byte) {
    const uint8_t *found = memchr(bytes, byte, count);
    return found ? (size_t)(found - bytes) : count;
}

size_t errand_peer_find(const uint8_t *bytes, size_t count, const uint8_t *pattern, size_t pattern_count) {
    const uint8_t *found = memmem(bytes, count, pattern, pattern_count);
    return found ? (size_t)(found - bytes) : count;
}

size_t errand_peer_gzip(const uint8_t *bytes, size_t count, uint8_t *output, size_t output_count) {
    z_stream stream = {0};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_in = (uint8_t *)bytes;
    stream.avail_in = (unsigned)count;
    stream.next_out = output;
    stream.avail_out = (unsigned)output_count;
    int status = deflate(&stream, Z_FINISH);
    size_t made = stream.total_out;
    deflateEnd(&stream);
    return status == Z_STREAM_END ? made : 0;
}

size_t errand_peer_gunzip(const uint8_t *bytes, size_t count, size_t piece) {
    static uint8_t output[64 * 1024];
    z_stream stream = {0};
    if (inflateInit2(&stream, 31) != Z_OK) return 0;
    int status = Z_OK;
    for (size_t offset = 0; offset < count && status == Z_OK; offset += piece) {
        stream.next_in = (uint8_t *)bytes + offset;
        stream.avail_in = (unsigned)(count - offset < piece ? count - offset : piece);
        do {
            stream.next_out = output;
            stream.avail_out = sizeof output;
            status = inflate(&stream, Z_NO_FLUSH);
        } while (status == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0));
        if (status == Z_BUF_ERROR) status = Z_OK;
    }
    size_t made = stream.total_out;
    inflateEnd(&stream);
    return status == Z_STREAM_END ? made : 0;
}

void errand_peer_keep(const void *bytes) { (void)bytes; }
