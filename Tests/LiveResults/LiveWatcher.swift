import CoherenceCore
import Testing

/// A controller, with a list that the controller's changes keep, and the checks that both equal a fresh fetch.
final class LiveWatcher: FetchedResultsControllerDelegate {
  let name: String
  let context: ManagedObjectContext
  let controller: FetchedResultsController<ManagedObject>
  private var list: [ManagedObjectID] = []
  private var sections: [ResultSection] = []
  private(set) var failures: [any Error] = []
  private(set) var faults: [String] = []
  private var isChanging = false

  init(
    _ name: String, _ request: FetchRequest<ManagedObject>, in context: ManagedObjectContext,
    sections path: String? = nil
  ) throws {
    self.name = name
    self.context = context
    controller = FetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionKeyPath: path)
    try context.performAndWait {
      try controller.performFetch()
      controller.delegate = self
      list = controller.snapshot?.ids ?? []
      sections = controller.sections
    }
  }

  func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    isChanging = true
    if controller.snapshot?.ids != list { faults.append("the former list is not the delivered one") }
  }

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange changes: ResultChanges<ManagedObject>
  ) {
    if !isChanging { faults.append("a change came without its announcement") }
    if changes.former.ids != list { faults.append("the change does not begin at the delivered list") }
    changes.apply(to: &list)
    if list != changes.current.ids { faults.append("the change does not lead to the present list") }
    let names = changes.deletedSections.reversed().reduce(into: sections.map(\.value)) { $0.remove(at: $1) }
    var values = names
    for index in changes.insertedSections { values.insert(controller.sections[index].value, at: index) }
    if values != controller.sections.map(\.value) { faults.append("the sections do not follow from the changes") }
    sections = controller.sections
  }

  func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) { isChanging = false }

  func controller(_ controller: FetchedResultsController<ManagedObject>, didFail error: any Error) {
    failures.append(error)
  }

  /// Compares the list with a fresh fetch. Returns a description of the first difference.
  func difference() throws -> String? {
    try context.performAndWait {
      let fresh = try context.fetchIDs(controller.fetchRequest)
      if let fault = faults.first { return "\(name): \(fault)" }
      if let failure = failures.first { return "\(name): \(failure)" }
      let kept = controller.snapshot?.ids ?? []
      if kept != fresh { return "\(name): the list has \(kept), a fetch finds \(fresh)" }
      if list != fresh { return "\(name): the changes lead to \(list), a fetch finds \(fresh)" }
      let objects = controller.fetchedObjects.map(\.objectID)
      if objects != fresh { return "\(name): the objects are \(objects), a fetch finds \(fresh)" }
      guard let path = controller.sectionKeyPath else { return nil }
      let entity = try context.persistentStoreCoordinator?.managedObjectModel.entity(named: "Track")
      // Reads the values from the store, because the objects of a context without merges may have older values.
      let values = ColumnSink(slot: entity?.attribute(named: path)?.slot ?? 0)
      try context.read(controller.fetchRequest, into: values)
      var expected: [ResultSection] = []
      for (index, value) in values.values.enumerated() {
        if let last = expected.last, last.value == value {
          expected[expected.count - 1] = ResultSection(value: value, range: last.range.lowerBound..<(index + 1))
        } else {
          expected.append(ResultSection(value: value, range: index..<(index + 1)))
        }
      }
      return controller.sections == expected ? nil : "\(name): the sections are \(controller.sections), not \(expected)"
    }
  }
}

/// Collects the values of one slot.
private final class ColumnSink: ValueSink {
  let slots: [Int]
  private(set) var values: [AttributeValue] = []
  var count: Int { values.count }

  init(slot: Int) { slots = [slot] }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) { self.values.append(values.move()) }
}
