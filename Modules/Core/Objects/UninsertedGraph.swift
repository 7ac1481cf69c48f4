/// A graph of related objects before their insertion into a context.
///
/// The whole graph lives as long as one of its objects, and is inserted into a context as a whole. Objects do not
/// retain each other, because their reference cycles would never be freed. When an object is released, its record stays
/// here. When a relationship leads to the record later, a new object is made from it.
final class UninsertedGraph {
  /// An object of the graph, or the record of a released object.
  private enum Node {
    case object(WeakObject)
    case record(PendingRecord)
  }
  private struct WeakObject { weak var object: ManagedObject? }
  private var nodes: [ManagedObjectID: Node] = [:]
  /// The first failed assignment of each object, which the context of the insertion reports.
  private(set) var lostChanges: [ManagedObjectID: any Error] = [:]

  /// Keeps the failure of an assignment to an object without a context.
  static func noteLostChange(of object: ManagedObject, _ error: any Error) {
    guard let record = object.pending else { return }
    let graph = record.uninsertedGraph ?? UninsertedGraph(object)
    if graph.lostChanges[record.id] == nil { graph.lostChanges[record.id] = error }
  }

  /// Joins the graphs of two objects without a context, which become related.
  static func connect(_ first: ManagedObject, _ second: ManagedObject) {
    let firstGraph = first.pending?.uninsertedGraph ?? UninsertedGraph(first)
    let secondGraph = second.pending?.uninsertedGraph ?? UninsertedGraph(second)
    guard firstGraph !== secondGraph else { return }
    if firstGraph.nodes.count < secondGraph.nodes.count {
      secondGraph.merge(firstGraph)
    } else {
      firstGraph.merge(secondGraph)
    }
  }

  private init(_ object: ManagedObject) {
    nodes[object.recordID] = .object(WeakObject(object: object))
    object.pending?.uninsertedGraph = self
  }

  /// Moves the nodes of another graph into this one.
  private func merge(_ other: UninsertedGraph) {
    for (id, node) in other.nodes {
      if case .object(let reference) = node { reference.object?.pending?.uninsertedGraph = self }
      nodes[id] = node
    }
    lostChanges.merge(other.lostChanges) { own, _ in own }
    other.nodes = [:]
  }

  /// The object with an identifier; `nil` for an object of another graph.
  func object(for id: ManagedObjectID) -> ManagedObject? {
    switch nodes[id] {
    case .object(let reference): return reference.object
    case .record(let record): return makeObject(record)
    case nil: return nil
    }
  }

  /// Makes an object from the record of a released object.
  private func makeObject(_ record: PendingRecord) -> ManagedObject {
    let object = record.entity.objectClass.init(ObjectBirth(entity: record.entity, id: record.id, storage: nil))
    object.pending = record
    // The released object's flag is unknown: a user may know the identifier.
    object.flags.insert(.temporaryIDExposed)
    record.uninsertedGraph = self
    nodes[record.id] = .object(WeakObject(object: object))
    return object
  }

  /// Keeps the record of a released object. The record releases the graph, so that the two do not retain each other.
  func replaceObject(by record: PendingRecord) {
    nodes[record.id] = .record(record)
    record.uninsertedGraph = nil
  }

  /// Removes and returns all objects, for a context to insert.
  func removeAll() -> [ManagedObject] {
    let objects = nodes.keys.sorted(by: ManagedObjectID.precedes).compactMap { object(for: $0) }
    nodes = [:]
    for object in objects { object.pending?.uninsertedGraph = nil }
    return objects
  }
}
