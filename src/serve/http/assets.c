/*
 * Serves the web UI from files embedded in the program.
 */
#include "serve/http/assets.h"

#include <stdio.h>
#include <stdlib.h>

/* Scripts and styles from this server only; inline styles are allowed, canvases need them. */
#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' "     \
    "data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; manifest-src "     \
    "'self'; base-uri 'self'; form-action 'none'; frame-ancestors "

static bool in_frames; /* set before the server starts */

void assets_allow_in_frames(void)
{
    in_frames = true;
}

bool assets_allowed_in_frames(void)
{
    return in_frames;
}

static const char *frame_ancestors(void)
{
    return in_frames ? "http://localhost:* http://127.0.0.1:*" : "'none'";
}

static const char built_in[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Kymo</title>"
    "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:4em auto;padding:0 1em}"
    "</style><h1>Kymo</h1><p>This program was built without its web interface. Run "
    "<code>make</code> "
    "in its source folder, which installs what the interface is built with.</p><p>The API works: "
    "<a href=\"/api/v1/profiles\">/api/v1/profiles</a>.</p></html>\n";

static const struct asset *find_asset(const char *path)
{
    for (size_t i = 0; i < asset_count; i++)
        if (assets[i].path && strcmp(assets[i].path, path) == 0)
            return &assets[i];
    return NULL;
}

static void join_path(const struct request *request, char *path, size_t size)
{
    size_t at = 0;
    path[0] = '\0';
    for (size_t i = 0; i < request->segment_count && at < size; i++)
        at += (size_t)snprintf(path + at, size - at, "%s%s", i ? "/" : "", request->segments[i]);
}

/* Whether the path names a file rather than a page of the UI. */
static bool names_file(const struct request *request)
{
    if (request->segment_count == 0 || strcmp(request->segments[0], "assets") == 0)
        return request->segment_count > 0;
    return request->segment_count == 1 && strchr(request->segments[0], '.');
}

static void reply_built_in(struct reply *reply)
{
    reply->type = "text/html; charset=utf-8";
    reply_header(reply, "Content-Security-Policy", POLICY "%s", frame_ancestors());
    output_text(&reply->body, built_in);
}

static void put_content(const struct request *request, struct reply *reply,
                        const struct asset *asset)
{
    const char *accepted = request_header(request, "Accept-Encoding");
    size_t size = (size_t)(asset->end - asset->data), unpacked_size;
    uint8_t *unpacked;
    struct error err;
    if (asset->is_packed && accepted && strstr(accepted, "gzip")) {
        reply_header(reply, "Content-Encoding", "gzip");
        reply->response = MHD_create_response_from_buffer(size, (void *)(uintptr_t)asset->data,
                                                          MHD_RESPMEM_PERSISTENT);
    } else if (!asset->is_packed) {
        reply->response = MHD_create_response_from_buffer(size, (void *)(uintptr_t)asset->data,
                                                          MHD_RESPMEM_PERSISTENT);
    } else if (stream_unpack(asset->path, asset->data, size, &unpacked, &unpacked_size, &err)) {
        output_write(&reply->body, (const char *)unpacked, unpacked_size);
        mem_free(unpacked);
    } else {
        reply_failure(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, &err);
    }
}

/* Unknown paths get index.html, since the UI routes pages itself; a path that names a file gets
 * 404, so that a missing script is not answered with HTML. */
void assets_reply(struct request *request, struct reply *reply)
{
    char path[1024];
    join_path(request, path, sizeof path);
    const struct asset *asset = find_asset(path);
    bool is_itself = asset != NULL;
    if (!asset && names_file(request)) {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "file not found");
        return;
    }
    if (!asset)
        asset = find_asset("index.html");
    if (!asset) {
        reply_built_in(reply);
        return;
    }
    /* Names in assets/ contain a content hash, so they never change. */
    bool is_lasting = is_itself && strncmp(path, "assets/", 7) == 0;
    const char *known = request_header(request, "If-None-Match");
    reply->type = asset->type;
    reply_header(reply, "ETag", "\"%s\"", asset->tag);
    reply_header(reply, "Vary", "Accept-Encoding");
    reply_header(reply, "Cache-Control",
                 is_lasting ? "public, max-age=31536000, immutable" : "no-cache");
    reply_header(reply, "Content-Security-Policy", POLICY "%s", frame_ancestors());
    if (known && strstr(known, asset->tag))
        reply->status = MHD_HTTP_NOT_MODIFIED;
    else
        put_content(request, reply, asset);
}
