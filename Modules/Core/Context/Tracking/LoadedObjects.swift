/// The objects that reads have loaded, until `awakeFromFetch` is called at the end of the outermost read. User code runs
/// then without a cursor, a lock or a half-made result below it.
struct LoadedObjects {
  /// The number of nested reads.
  var depth = 0
  /// Whether `awakeFromFetch` runs. The outer call then continues with the objects that the override loads.
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
