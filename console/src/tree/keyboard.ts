// The state of the tree for the keyboard and for screen readers: expanded nodes, the focus and type-ahead.

import {
  createTree,
  hotkeysCoreFeature,
  syncDataLoaderFeature,
  type TreeInstance,
} from '@headless-tree/core';

import type { LineageNode, Nodes } from './nodes.ts';
import { TypeAhead } from './type-ahead.ts';

/** The id of the root that the library requires and does not show. */
const ROOT = 'root';

/** The events of a tree. */
export interface TreeEvents {
  /** The visible state changed. */
  onChange: () => void;
  /** The user selected a node. */
  onSelect: (node: LineageNode) => void;
}

/** A lineage that can be navigated by keyboard. */
export class KeyboardTree {
  readonly tree: TreeInstance<LineageNode>;
  readonly #typeAhead = new TypeAhead();
  #nodes: Nodes = new Map();
  #isUpdating = false;

  constructor({ onChange, onSelect }: TreeEvents) {
    const change = () => this.#isUpdating || onChange();
    const select = { canRepeat: false, preventDefault: true, handler: () => onSelect(this.#focused()) };
    this.tree = createTree<LineageNode>({
      rootItemId: ROOT,
      // The library also reads the data of nodes that were removed.
      dataLoader: {
        getItem: (id) => this.#nodes.get(id) ?? this.#first(),
        getChildren: (id) => (id === ROOT ? [this.#first().id] : (this.#nodes.get(id)?.children ?? [])),
      },
      getItemName: (item) => item.getItemData().name,
      isItemFolder: (item) => item.getItemData().children.length > 0,
      features: [syncDataLoaderFeature, hotkeysCoreFeature],
      hotkeys: {
        // Without `preventDefault`, the page would scroll as well.
        expandOrDown: { hotkey: 'ArrowRight', preventDefault: true },
        collapseOrUp: { hotkey: 'ArrowLeft', preventDefault: true },
        focusFirstItem: { hotkey: 'Home', preventDefault: true },
        focusLastItem: { hotkey: 'End', preventDefault: true },
        customSelect: { ...select, hotkey: 'Enter' },
        customSelectBySpace: { ...select, hotkey: 'Space' },
      },
      setState: change,
      setFocusedItem: change,
    });
  }

  /** Replaces the nodes, without an `onChange`. New nodes are expanded; collapsed nodes stay collapsed. */
  setNodes(nodes: Nodes) {
    this.#isUpdating = true;
    const before = this.#nodes;
    this.#nodes = nodes;
    const { expandedItems, focusedItem } = this.tree.getState();
    const wasOpen = new Set(expandedItems);
    const isNewParent = ({ id, children }: LineageNode) =>
      children.length > 0 && !before.get(id)?.children.length;
    const open = [...nodes.values()]
      .filter((node) => wasOpen.has(node.id) || isNewParent(node))
      .map(({ id }) => id);
    this.tree.applySubStateUpdate('expandedItems', open);
    if (focusedItem !== null && !nodes.has(focusedItem)) this.tree.applySubStateUpdate('focusedItem', null);
    this.tree.rebuildTree();
    this.#isUpdating = false;
  }

  /** Expands the ancestors of a node, and moves the focus to it, so that the next key starts there. */
  reveal(id: string) {
    const ancestors: string[] = [];
    for (let node = this.#nodes.get(id); node?.parentId; node = this.#nodes.get(node.parentId))
      ancestors.push(node.parentId);
    const { expandedItems } = this.tree.getState();
    this.tree.applySubStateUpdate('expandedItems', [...new Set([...expandedItems, ...ancestors])]);
    this.tree.applySubStateUpdate('focusedItem', id);
    this.tree.rebuildTree();
  }

  /** Expands or collapses a node. */
  toggle(id: string) {
    const item = this.tree.getItemInstance(id);
    if (item.isExpanded()) item.collapse();
    else item.expand();
  }

  /** Moves the focus to the next node whose name begins with the typed characters. */
  type({ key, ctrlKey, metaKey, altKey, timeStamp }: KeyboardEvent) {
    if ([...key].length !== 1 || key === ' ' || ctrlKey || metaKey || altKey) return;
    const items = this.tree.getItems();
    const names = items.map((item) => item.getItemName());
    const focused = this.tree.getFocusedItem().getItemMeta().index;
    const found = items[this.#typeAhead.next(key, timeStamp, names, focused) ?? -1];
    if (!found) return;
    found.setFocused();
    this.tree.updateDomFocus();
  }

  #first(): LineageNode {
    const [first] = this.#nodes.values();
    if (!first) throw new Error('A lineage has at least one sandbox.');
    return first;
  }

  #focused(): LineageNode {
    return this.tree.getFocusedItem().getItemData();
  }
}
