// The page for people who open a path without a page.

/** The content of the page. */
export function NotFound() {
  return (
    <>
      <h1>Page not found</h1>
      <p class="intro">There is no page at this address.</p>
      <ul>
        <li>
          <a href="/">The console</a> shows the workspaces and snapshots.
        </li>
        <li>
          <a href="/docs">The HTTP API</a> lists the operations, their options and their errors.
        </li>
        <li>
          <a href="/openapi.json">The OpenAPI document</a> describes them for programs.
        </li>
      </ul>
    </>
  );
}
