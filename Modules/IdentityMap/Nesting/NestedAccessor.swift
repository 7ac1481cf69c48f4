/// Reaches the nested entities at one place of an aggregate.
///
/// The entities of a place have an order, the order in which they are visited. The links of an aggregate's node to its
/// children are in this order, so that a cursor over the links goes along with every walk over the value.
class NestedAccessor<Root> {
  /// The place, to tell whether two accessors are of the same one.
  var place: AnyKeyPath { fatalError("An accessor has a place.") }

  /// Gets ready to be used many times.
  func prepare() {}

  /// Stores the entities at the place.
  func adopt(_ root: Root, by adoption: inout Adoption) {}

  /// How many entities are at the place.
  func count(in root: Root) -> Int { 0 }

  /// Writes the values of the linked entities that have changed since they were written last.
  func refresh(_ root: inout Root, along cursor: inout LinkCursor) {}

  /// Takes an entity out.
  /// - Returns: Whether the place cannot be without it, so that the aggregate has to go too.
  func remove(from root: inout Root, along cursor: inout LinkCursor) -> Bool { false }
}

/// Reaches a part of a certain shape by its key path.
final class PathAccessor<Root, Part>: NestedAccessor<Root> {
  private let keyPath: WritableKeyPath<Root, Part>
  private let shape: NestedShape<Part>
  /// Where the part lies in memory, when it is a plain stored property: a key path takes ten times as long.
  private var offset: Int?

  init(keyPath: WritableKeyPath<Root, Part>, shape: NestedShape<Part>) {
    self.keyPath = keyPath
    self.shape = shape
  }

  override var place: AnyKeyPath { keyPath }

  override func prepare() {
    offset = MemoryLayout<Root>.offset(of: keyPath)
  }

  override func adopt(_ root: Root, by adoption: inout Adoption) {
    shape.adopt(part(of: root), by: &adoption)
  }

  override func count(in root: Root) -> Int {
    shape.fixedCount ?? shape.count(in: part(of: root))
  }

  override func refresh(_ root: inout Root, along cursor: inout LinkCursor) {
    let count = count(in: root)
    guard cursor.needsWriting(count) else { return cursor.skip(count) }
    withPart(of: &root) { shape.refresh(&$0, along: &cursor) }
  }

  override func remove(from root: inout Root, along cursor: inout LinkCursor) -> Bool {
    let count = count(in: root)
    guard cursor.meetsRemoved(count) else {
      cursor.skip(count)
      return false
    }
    return withPart(of: &root) { shape.remove(from: &$0, along: &cursor) }
  }

  private func part(of root: Root) -> Part {
    guard let offset else { return root[keyPath: keyPath] }
    return withUnsafePointer(to: root) {
      UnsafeRawPointer($0).advanced(by: offset).assumingMemoryBound(to: Part.self).pointee
    }
  }

  private func withPart<R>(of root: inout Root, _ body: (inout Part) -> R) -> R {
    guard let offset else { return body(&root[keyPath: keyPath]) }
    return withUnsafeMutablePointer(to: &root) {
      body(&UnsafeMutableRawPointer($0).advanced(by: offset).assumingMemoryBound(to: Part.self).pointee)
    }
  }
}
