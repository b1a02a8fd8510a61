// The lineage as a tree for the keyboard and for screen readers: what is open, where the focus is, what is typed ahead.

import {
  createTree,
  hotkeysCoreFeature,
  syncDataLoaderFeature,
  type TreeInstance,
} from '@headless-tree/core';

import type { LineageNode, Nodes } from './nodes.ts';
import { TypeAhead } from './type-ahead.ts';

/** The tree wants a root that is not shown. */
const ROOT = 'root';

/** What a tree tells its view. */
export interface TreeEvents {
  /** What is shown is different now. */
  onChange: () => void;
  /** A node was chosen. */
  onChoose: (node: LineageNode) => void;
}

/** A lineage to move about in. */
export class KeyboardTree {
  readonly tree: TreeInstance<LineageNode>;
  readonly #typeAhead = new TypeAhead();
  #nodes: Nodes = new Map();
  #isBeingShown = false;

  constructor({ onChange, onChoose }: TreeEvents) {
    const change = () => this.#isBeingShown || onChange();
    const choose = { canRepeat: false, preventDefault: true, handler: () => onChoose(this.#focused()) };
    this.tree = createTree<LineageNode>({
      rootItemId: ROOT,
      // The library wants data of every node that it ever knew, also of one that has gone.
      dataLoader: {
        getItem: (id) => this.#nodes.get(id) ?? this.#first(),
        getChildren: (id) => (id === ROOT ? [this.#first().id] : (this.#nodes.get(id)?.children ?? [])),
      },
      getItemName: (item) => item.getItemData().name,
      isItemFolder: (item) => item.getItemData().children.length > 0,
      features: [syncDataLoaderFeature, hotkeysCoreFeature],
      hotkeys: {
        // Without these the page would scroll as well.
        expandOrDown: { hotkey: 'ArrowRight', preventDefault: true },
        collapseOrUp: { hotkey: 'ArrowLeft', preventDefault: true },
        focusFirstItem: { hotkey: 'Home', preventDefault: true },
        focusLastItem: { hotkey: 'End', preventDefault: true },
        customChoose: { ...choose, hotkey: 'Enter' },
        customChooseBySpace: { ...choose, hotkey: 'Space' },
      },
      setState: change,
      setFocusedItem: change,
    });
  }

  /** Has these nodes from now on, for whoever is drawing it. What is new is open; what was closed stays closed. */
  show(nodes: Nodes) {
    this.#isBeingShown = true;
    const before = this.#nodes;
    this.#nodes = nodes;
    const { expandedItems, focusedItem } = this.tree.getState();
    const isOpen = new Set(expandedItems);
    const grew = ({ id, children }: LineageNode) => children.length > 0 && !before.get(id)?.children.length;
    const open = [...nodes.values()].filter((node) => isOpen.has(node.id) || grew(node)).map(({ id }) => id);
    this.tree.applySubStateUpdate('expandedItems', open);
    if (focusedItem !== null && !nodes.has(focusedItem)) this.tree.applySubStateUpdate('focusedItem', null);
    this.tree.rebuildTree();
    this.#isBeingShown = false;
  }

  /** Opens everything above a node, and lets the next press of a key begin there. */
  reveal(id: string) {
    const above: string[] = [];
    for (let node = this.#nodes.get(id); node?.parentId; node = this.#nodes.get(node.parentId))
      above.push(node.parentId);
    const { expandedItems } = this.tree.getState();
    this.tree.applySubStateUpdate('expandedItems', [...new Set([...expandedItems, ...above])]);
    this.tree.applySubStateUpdate('focusedItem', id);
    this.tree.rebuildTree();
  }

  /** Opens or closes a node. */
  toggle(id: string) {
    const item = this.tree.getItemInstance(id);
    if (item.isExpanded()) item.collapse();
    else item.expand();
  }

  /** Goes to the next node whose name begins with what is typed. */
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
