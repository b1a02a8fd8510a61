// The tree of a lineage.

import type { ItemInstance } from '@headless-tree/core';
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks';

import type { Selected } from '../routes.ts';
import { now } from '../clock.ts';
import { age, expiry } from '../format.ts';
import { KeyboardTree } from './keyboard.ts';
import { nodeId, type LineageNode, type Nodes } from './nodes.ts';
import { Row, type RowProps } from './row.tsx';

interface LineageTreeProps {
  nodes: Nodes;
  /** The sandbox that the page is about. */
  current: string;
  /** The sandboxes that its workspace had before. */
  former: string[];
  selected: Selected;
  /** Whether the selected node is scrolled into view. A page whose address selects none begins at its top. */
  scrolls: boolean;
  onSelect: (selected: Selected) => void;
}

/**
 * A lineage as a tree that begins with the first sandbox. The arrow keys, Home, End and typed characters move the focus; Enter,
 * the space bar and a click select.
 */
export function LineageTree({ nodes, current, former, selected, scrolls, onSelect }: LineageTreeProps) {
  const [, render] = useReducer((count: number) => count + 1, 0);
  const latestOnSelect = useRef(onSelect);
  latestOnSelect.current = onSelect;
  const keyboard = useMemo(
    () =>
      new KeyboardTree({
        onChange: () => render(undefined),
        onSelect: (node) => latestOnSelect.current(node.selected),
      }),
    [],
  );
  const { tree } = keyboard;
  const previous = useRef<Nodes>(undefined);
  if (previous.current !== nodes) {
    tree.setMounted(true);
    keyboard.setNodes(nodes);
    previous.current = nodes;
  }
  const selectedId = nodeId(selected);
  useLayoutEffect(() => {
    if (!nodes.has(selectedId)) return;
    keyboard.reveal(selectedId);
    if (scrolls) tree.getItemInstance(selectedId).getElement()?.scrollIntoView({ block: 'nearest' });
  }, [selectedId, nodes.has(selectedId), scrolls]);
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
            {...formatTimes(node, now.value)}
            rails={rails}
            isOpen={item.isFolder() ? item.isExpanded() : undefined}
            isFocused={item.isFocused()}
            isSelected={node.id === selectedId}
            isCurrent={isCurrent}
            isFormer={node.kind === 'sandbox' && former.includes(node.selected.sandboxId)}
            position={item.getItemMeta().posInSet + 1}
            siblings={item.getItemMeta().setSize}
            register={item.registerElement}
          />
        );
      })}
    </div>
  );
}

/** Formats the times of a snapshot. A row is rendered again only if the texts differ. */
function formatTimes(node: LineageNode, now: number): Pick<RowProps, 'age' | 'expiry'> {
  const { createdAt, expiresAt, state } = node.kind === 'snapshot' ? node.snapshot : {};
  return {
    age: createdAt && age(createdAt, now),
    expiry: expiresAt && state === 'ready' ? expiry(expiresAt, now) : undefined,
  };
}

/** Returns the items, each with the levels at which a line between siblings passes it. */
function withRails(items: ItemInstance<LineageNode>[]): { item: ItemInstance<LineageNode>; rails: string }[] {
  const continues: boolean[] = [];
  return items.map((item) => {
    const { level, posInSet, setSize } = item.getItemMeta();
    const rails = continues.slice(1, level).map((passes) => (passes ? '1' : '0'));
    continues.splice(level, Infinity, posInSet + 1 < setSize);
    return { item, rails: rails.join('') };
  });
}
