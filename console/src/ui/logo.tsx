// The logo.

/** The logo, without alternative text: the name is next to it. */
export function Logo() {
  return <img class="logo" src="/console/icon.svg" alt="" width="28" height="28" />;
}
