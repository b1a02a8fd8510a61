// The pages that are part of the Worker: the console, and the API document with its own page.
//
// They are in its bundle and no assets of the platform's: a router stands in front of every Worker that has such, and on its
// way through that an RPC call loses its AbortSignal, and an error its properties.

import pages from '../build/pages.js';

/** A page may load what is its own, and nothing of anybody else's; nobody may frame it, or take it for another type. */
const HEADERS = {
  'Cache-Control': 'no-cache',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

/**
 * The answer to a request for a page; undefined where it is for none.
 *
 * @param {Request} request
 * @returns {Response | undefined}
 */
export function page(request) {
  const found = pages.get(new URL(request.url).pathname);
  if (!found || !['GET', 'HEAD'].includes(request.method)) return undefined;
  const { type, body, etag } = found;
  const headers = { ...HEADERS, 'Content-Type': type, ETag: etag };
  const known = request.headers.get('If-None-Match')?.split(',') ?? [];
  if (known.some((tag) => tag.trim().replace('W/', '') === etag))
    return new Response(null, { status: 304, headers });
  return new Response(request.method === 'HEAD' ? null : body, { headers });
}
