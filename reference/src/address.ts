/** The address in the examples, which the script of the page replaces by that of the Worker. */
export const EXAMPLE_ADDRESS = 'https://sandbox-snapshotter.example.workers.dev';
