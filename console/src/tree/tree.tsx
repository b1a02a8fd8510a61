// The tree of a lineage.

import type { ItemInstance } from '@headless-tree/core';
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks';

import type { Selected } from '../routes.ts';
import { now } from '../clock.ts';
import { age, expiry } from '../texts.ts';
import { KeyboardTree } from './keyboard.ts';
import { nodeId, type LineageNode, type Nodes } from './nodes.ts';
import { Row, type RowProps } from './row.tsx';

interface LineageTreeProps {
  nodes: Nodes;
  /** The sandbox that the page is about. */
  current: string;
  selected: Selected;
  onSelect: (selected: Selected) => void;
}

/**
 * A lineage as a tree, from the first sandbox on. Arrow keys, Home, End and letters move the focus; Enter, the space bar or a
 * click select.
 */
export function LineageTree({ nodes, current, selected, onSelect }: LineageTreeProps) {
  const [, draw] = useReducer((drawn: number) => drawn + 1, 0);
  const choose = useRef(onSelect);
  choose.current = onSelect;
  const keyboard = useMemo(
    () =>
      new KeyboardTree({
        onChange: () => draw(undefined),
        onChoose: (node) => choose.current(node.selected),
      }),
    [],
  );
  const { tree } = keyboard;
  const shown = useRef<Nodes>(undefined);
  if (shown.current !== nodes) {
    tree.setMounted(true);
    keyboard.show(nodes);
    shown.current = nodes;
  }
  const chosen = nodeId(selected);
  useLayoutEffect(() => {
    if (!nodes.has(chosen)) return;
    keyboard.reveal(chosen);
    tree.getItemInstance(chosen).getElement()?.scrollIntoView({ block: 'nearest' });
  }, [chosen, nodes.has(chosen)]);
  useEffect(() => () => tree.setMounted(false), []);

  const click = (event: MouseEvent) => {
    if (!(event.target instanceof Element)) return;
    const row = event.target.closest<HTMLElement>('[data-node]');
    const node = nodes.get(row?.dataset['node'] ?? '');
    if (!row || !node) return;
    tree.getItemInstance(node.id).setFocused();
    row.focus();
    if (event.target.closest('[data-twist="true"]')) keyboard.toggle(node.id);
    else onSelect(node.selected);
  };

  const depth = Math.max(...[...nodes.values()].map(({ level }) => level));
  return (
    <div
      class="tree"
      role="tree"
      aria-label="Lineage"
      ref={tree.registerElement}
      onClick={click}
      onKeyDown={(event) => keyboard.type(event)}
      style={{ '--depth': depth }}
    >
      {withRails(tree.getItems()).map(({ item, rails }) => {
        const node = item.getItemData();
        const isCurrent = node.kind === 'sandbox' && node.selected.sandboxId === current;
        return (
          <Row
            key={node.id}
            node={node}
            {...times(node, now.value)}
            rails={rails}
            isOpen={item.isFolder() ? item.isExpanded() : undefined}
            isFocused={item.isFocused()}
            isSelected={node.id === chosen}
            isCurrent={isCurrent}
            position={item.getItemMeta().posInSet + 1}
            siblings={item.getItemMeta().setSize}
            register={item.registerElement}
          />
        );
      })}
    </div>
  );
}

/** The times of a snapshot in words: a row is drawn again only where they are others. */
function times(node: LineageNode, now: number): Pick<RowProps, 'age' | 'expiry'> {
  const { createdAt, expiresAt, state } = node.kind === 'snapshot' ? node.snapshot : {};
  return {
    age: createdAt && age(createdAt, now),
    expiry: expiresAt && state === 'ready' ? expiry(expiresAt, now) : undefined,
  };
}

/** The items, each with the levels at which the line of an earlier one goes past it to a later one. */
function withRails(items: ItemInstance<LineageNode>[]): { item: ItemInstance<LineageNode>; rails: string }[] {
  const goesOn: boolean[] = [];
  return items.map((item) => {
    const { level, posInSet, setSize } = item.getItemMeta();
    const rails = goesOn.slice(1, level).map((goes) => (goes ? '1' : '0'));
    goesOn.splice(level, Infinity, posInSet + 1 < setSize);
    return { item, rails: rails.join('') };
  });
}
