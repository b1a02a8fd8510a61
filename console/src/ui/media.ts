// Media queries.

import { useEffect, useState } from 'preact/hooks';

/** The width up to which a page is one of a phone, as in the style sheets. */
const PHONE = '(max-width: 40rem)';

/** Returns whether the window is as narrow as that of a phone. */
export function usePhone(): boolean {
  const [isPhone, setPhone] = useState(() => matchMedia(PHONE).matches);
  useEffect(() => {
    const query = matchMedia(PHONE);
    const update = () => setPhone(query.matches);
    update();
    query.addEventListener('change', update);
    return () => query.removeEventListener('change', update);
  }, []);
  return isPhone;
}
