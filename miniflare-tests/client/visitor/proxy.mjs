export default {
  fetch(request, env) {
    return env.SNAPSHOTTER.fetch(request);
  },
};
