// The pages that the Worker serves: the console, and the API reference with its OpenAPI document.
//
// The pages are part of the Worker's bundle, and not static assets of the platform. With static assets, a router precedes the
// Worker: RPC calls through it lose their AbortSignal, and errors lose their properties.

import { refusePageMethod } from '../build/index.js';
import pages from '../build/pages.js';

/** The headers of every page: it loads only the Worker's own files, cannot be framed, and has a fixed media type. */
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

/** A path without a page that {@link redirect} also accepts with a trailing slash. */
const HEALTH = '/healthz';

/** The paths of the API, which answers everybody with JSON. */
const API = /^\/(v1|mcp|healthz)(\/|$)/;

/**
 * Returns the response to a request for a page; undefined if the path is not that of a page.
 *
 * @param {Request} request
 * @returns {Response | undefined}
 */
export function page(request) {
  const { pathname, search } = new URL(request.url);
  const found = pages.get(pathname);
  if (!found) return redirect(pathname, search) ?? notFound(request, pathname);
  if (!['GET', 'HEAD'].includes(request.method)) return refusePageMethod(request);
  const { type, body, etag } = found;
  const headers = { ...HEADERS, 'Content-Type': type, ETag: etag };
  const known = request.headers.get('If-None-Match')?.split(',') ?? [];
  if (known.some((tag) => ['*', etag].includes(tag.trim().replace('W/', ''))))
    return new Response(null, { status: 304, headers });
  return new Response(request.method === 'HEAD' ? null : body, { headers });
}

/** Returns the page for a browser that opens a path without a page. Programs get the error of the API. */
function notFound(/** @type {Request} */ request, /** @type {string} */ pathname) {
  const isBrowser = request.headers.get('Accept')?.includes('text/html') ?? false;
  if (!isBrowser || API.test(pathname) || !['GET', 'HEAD'].includes(request.method)) return undefined;
  const { type, body } = pages.get('not-found');
  const headers = { ...HEADERS, 'Content-Type': type, Vary: 'Accept' };
  return new Response(request.method === 'HEAD' ? null : body, { status: 404, headers });
}

/** Redirects a path with a trailing slash to the path without it, if that exists. */
function redirect(/** @type {string} */ pathname, /** @type {string} */ search) {
  const path = pathname.replace(/\/$/, '');
  if (path === pathname || !(pages.has(path) || path === HEALTH)) return undefined;
  return new Response(null, { status: 308, headers: { ...HEADERS, Location: path + search } });
}
