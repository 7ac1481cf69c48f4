/// A first-in, first-out queue of ready contexts.
struct ContextQueue {
  private var contexts: [Confinement?] = []
  private var head = 0

  var isEmpty: Bool { head == contexts.count }
  var count: Int { contexts.count - head }

  mutating func append(_ context: Confinement) { contexts.append(context) }

  mutating func popFirst() -> Confinement? {
    guard head < contexts.count else { return nil }
    let context = contexts[head].take()
    head += 1
    if head == contexts.count {
      contexts.removeAll(keepingCapacity: contexts.capacity <= 1024)
      head = 0
    } else if head >= 256, head * 2 >= contexts.count {
      contexts.removeFirst(head)
      head = 0
    }
    return context
  }

  /// Moves a queued context to the front. Does nothing for other contexts.
  mutating func moveToFront(_ context: Confinement) {
    guard let index = contexts[head...].firstIndex(where: { $0 === context }), index > head else { return }
    contexts.remove(at: index)
    contexts.insert(context, at: head)
  }
}
