// Says why buttons are missing.

import type { Permission } from '../../../client/src/index.ts';
import { access } from '../permissions.ts';

/** Names those of some permissions that the token lacks. The console does not show the buttons that need them. */
export function NotPermitted({ of }: { of: Permission[] }) {
  const current = access.value;
  const missing = current ? of.filter((permission) => !current.permissions.includes(permission)) : [];
  return missing.length === 0 ? null : (
    <p class="hint">
      Your token does not have the permission {missing.join(' or ')}, so buttons that need it are not shown.
      An administrator creates tokens under “Access tokens”.
    </p>
  );
}
