/// The loaded objects that wait for `awakeFromFetch`, which is called at the end of the outermost read. So the user's
/// code never runs in the middle of a cursor, a lock or an incomplete result.
struct LoadedObjects {
  /// The number of nested reads.
  var depth = 0
  /// Whether a call of `awakeFromFetch` is running. Objects that it loads then wait until it returns.
  var isAwakening = false
  private(set) var waiting: [ManagedObject] = []

  /// Whether the calls can begin.
  var isDue: Bool { depth == 0 && !isAwakening }

  mutating func append(_ object: ManagedObject) { waiting.append(object) }

  mutating func takeAll() -> [ManagedObject] {
    defer { waiting = [] }
    return waiting
  }
}
