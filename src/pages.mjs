// The pages that are part of the Worker: the console, and the API document with its own page.
//
// They are in its bundle and no assets of the platform's: a router stands in front of every Worker that has such, and on its
// way through that an RPC call loses its AbortSignal, and an error its properties.

import { refusePageMethod } from '../build/index.js';
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

/** What is read beside the pages. */
const HEALTH = '/healthz';

/**
 * The answer to a request for a page; undefined where it is for none.
 *
 * @param {Request} request
 * @returns {Response | undefined}
 */
export function page(request) {
  const { pathname, search } = new URL(request.url);
  const found = pages.get(pathname);
  if (!found) return moved(pathname, search);
  if (!['GET', 'HEAD'].includes(request.method)) return refusePageMethod(request);
  const { type, body, etag } = found;
  const headers = { ...HEADERS, 'Content-Type': type, ETag: etag };
  const known = request.headers.get('If-None-Match')?.split(',') ?? [];
  if (known.some((tag) => ['*', etag].includes(tag.trim().replace('W/', ''))))
    return new Response(null, { status: 304, headers });
  return new Response(request.method === 'HEAD' ? null : body, { headers });
}

/** The way to what there is without the slash at the end of a path. */
function moved(/** @type {string} */ pathname, /** @type {string} */ search) {
  const path = pathname.replace(/\/$/, '');
  if (path === pathname || !(pages.has(path) || path === HEALTH)) return undefined;
  return new Response(null, { status: 308, headers: { ...HEADERS, Location: path + search } });
}
