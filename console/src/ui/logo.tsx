// The sign of the product.

/** The sign, beside the name. */
export function Logo() {
  return <img class="logo" src="/console/icon.svg" alt="" width="28" height="28" />;
}
