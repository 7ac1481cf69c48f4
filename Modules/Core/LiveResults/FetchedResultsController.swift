public import Foundation

/// Keeps the objects of a request's result up to date in their context, optionally in sections.
///
/// To be made and used inside its context: on the main actor for a main-queue context. The controller calls its
/// delegate inside the context, at the end of the outermost block that changed the result, or soon after another
/// context's save.
///
/// ```swift
/// let controller = FetchedResultsController(
///   fetchRequest: FetchRequest(Track.self).sort(\.title), managedObjectContext: context)
/// try controller.performFetch()
/// ```
/// The controller retains its context. Releasing the controller ends its work. Cost: as
/// ``ManagedObjectContext/values(of:sectionKeyPath:followingOtherProcesses:)``, with the objects in addition.
///
/// The controller keeps identifiers and sort values of the result, and loads objects by pages when `object(at:)` or
/// ``fetchedList`` first needs them: of ``FetchRequest/fetchBatchSize`` records, or of 256 for a request without one. With
/// a batch size, the controller retains the objects of its last pages, at most eight; otherwise it retains the objects
/// that it was asked for.
public final class FetchedResultsController<Result: ManagedObject> {
  /// The request of the controller.
  public let fetchRequest: FetchRequest<Result>
  /// The context of the objects.
  public let managedObjectContext: ManagedObjectContext
  /// The path of the first sort key, by whose values the result has sections; `nil` for a result without sections.
  public let sectionKeyPath: String?
  /// Receives the changes. Not retained.
  public weak var delegate: (any FetchedResultsControllerDelegate<Result>)?
  /// Called after a reset of the context, which has detached the objects of the result.
  var objectsDetached: (() -> Void)?

  /// The number of calls of ``performFetch()``.
  private var fetchCount = 0
  /// The last delivered state; `nil` before ``performFetch()``.
  private var state: ResultState?
  /// The live result of the last fetch, and the number of its changes that ``state`` includes.
  private var live: (result: LiveResult, changeCount: Int)?
  /// All objects; `nil` before they are asked for, and always for a request with a batch size.
  private var objects: [Result]?
  /// The context's number of resets when ``objects`` were made. A reset detaches the objects.
  private var resetCount = 0
  /// The objects of ``state`` by pages, made on first use.
  private var pages: ObjectPages?
  /// The objects that the pages returned last. They stay retained when a change of the result replaces ``pages``.
  private var recent = RecentObjects(limit: 0)
  /// The entities of the records.
  private var entities: [EntityDescription] = []
  /// The objects of the unsaved records of ``state``, by their temporary identifiers. The context releases an object
  /// that is deleted before its first save, while the delegate still asks for the former result.
  private var unsaved: [ManagedObjectID: ManagedObject] = [:]
  /// The indexes of the records in ``state``, made when the live result is not at this state.
  private var positions: [ManagedObjectID: Int]?

  /// Makes a controller, which has no result before ``performFetch()``.
  ///
  /// - Parameter sectionKeyPath: The path of the request's first sort key: records with an equal value are one section.
  public init(
    fetchRequest: FetchRequest<Result>, managedObjectContext: ManagedObjectContext, sectionKeyPath: String? = nil
  ) {
    self.fetchRequest = fetchRequest
    self.managedObjectContext = managedObjectContext
    self.sectionKeyPath = sectionKeyPath
  }

  /// Runs the request, and keeps its result up to date from now on. A second call runs the request again, without a
  /// call of the delegate.
  ///
  /// - Throws: Errors of the fetch; ``ErrorCode/invalidFetchRequest`` for a section key path other than the path of the
  ///   first sort key. After an error the controller has no result.
  public func performFetch() throws {
    try managedObjectContext.operating {
      let coordinator = try managedObjectContext.coordinator()
      let results = ContextLiveResults.of(managedObjectContext)
      results?.remove(self, in: managedObjectContext)
      setState(nil)
      (live, objects, unsaved) = (nil, nil, [:])
      recent = RecentObjects(limit: ObjectPages.retainedCount(ofPagesOf: fetchRequest.pageSize))
      fetchCount += 1
      let request = try CheckedRequest(fetchRequest, sectionKeyPath: sectionKeyPath, in: coordinator)
      entities = request.interest.entities
      let result = try results?.add(request, for: self, in: managedObjectContext)
      live = result.map { ($0, $0.changeCount) }
    }
  }

  private func setState(_ state: ResultState?) {
    self.state = state
    (pages, positions) = (nil, nil)
  }

  // MARK: Result

  /// The objects of the result, in order; empty before ``performFetch()``.
  ///
  /// Loads all objects together. The controller retains them, unless the request has a batch size: then each call costs
  /// a look-up for each record, and ``fetchedList`` is the better choice. A later insert, delete or move then costs, in
  /// addition, the moves of the objects between the changed indexes, see ``ResultChanges/apply(to:_:)``. A record that is
  /// deleted while the controller still has the former result is an object as in ``ObjectList``.
  public var fetchedObjects: [Result] {
    managedObjectContext.operating {
      if let retained = retainedObjects { return retained }
      let (made, areComplete) = makeObjects()
      // A record without an object of the context may have one at the next call, after a failed read.
      guard fetchRequest.fetchBatchSize == 0, areComplete else { return made }
      objects = made
      resetCount = managedObjectContext.storage.resetCount
      return made
    }
  }

  private var retainedObjects: [Result]? {
    resetCount == managedObjectContext.storage.resetCount ? objects : nil
  }

  /// The objects of the present result as a collection that loads them by pages; empty before ``performFetch()``. The
  /// list stays as it is when the result changes.
  public var fetchedList: ObjectList<Result> { managedObjectContext.operating { ObjectList(presentPages) } }

  private var presentPages: ObjectPages {
    if let pages { return pages }
    let made = state.map(makePages) ?? makePages(IdentifierList())
    pages = made
    return made
  }

  private func makePages(_ ids: some IdentifierSource) -> ObjectPages {
    if fetchRequest.fetchBatchSize == 0 { recent.limit = max(recent.limit, ids.count) }
    return ObjectPages(
      ids, of: entities, in: managedObjectContext, size: fetchRequest.pageSize, recent: recent, unsaved: unsaved)
  }

  /// The sections of the result, in order; empty without a section key path.
  public var sections: [ResultSection] { managedObjectContext.operating { state?.sectionList ?? [] } }

  /// The identifiers of the result, for any thread; `nil` before ``performFetch()``.
  public var snapshot: ResultSnapshot<Result>? { managedObjectContext.operating { state.map { ResultSnapshot($0) } } }

  /// The object at an index of the result. Costs a look-up; the first access to a page costs a statement. See
  /// ``ObjectList`` for deleted records and for failures of a read.
  ///
  /// - Precondition: The result has the index.
  public func object(at index: Int) -> Result {
    managedObjectContext.operating {
      if let retained = retainedObjects, retained.count == state?.count { return retained[index] }
      return fetchedList[index]
    }
  }

  /// The object at a section and an index in the section, or at the section 0 of a result without sections.
  ///
  /// - Precondition: The index path has two indexes, and the result has them.
  public func object(at indexPath: IndexPath) -> Result {
    managedObjectContext.operating {
      let sections = sections
      return object(at: (sections.isEmpty ? 0 : sections[indexPath[0]].range.lowerBound) + indexPath[1])
    }
  }

  /// The index of an object in the result; `nil` for an object outside of the result. Costs a binary search. Inside of
  /// ``FetchedResultsControllerDelegate/controllerWillChangeContent(_:)``, and for a result with a limit or an offset,
  /// the first call after a change costs more, by the size of the result.
  public func index(for object: Result) -> Int? {
    managedObjectContext.operating {
      guard let state else { return nil }
      let id = managedObjectContext.current(object.objectID)
      if let live, live.changeCount == live.result.changeCount {
        return live.result.entry(of: id).flatMap(state.position)
      }
      if let positions { return positions[id] }
      let made = Dictionary(state.visibleEntries.enumerated().map { ($1.id, $0) }) { first, _ in first }
      positions = made
      return made[id]
    }
  }

  /// The section of an object and its index in the section; `nil` for an object outside of the result. Cost: as
  /// ``index(for:)``.
  public func indexPath(for object: Result) -> IndexPath? {
    managedObjectContext.operating {
      guard let index = index(for: object) else { return nil }
      let sections = sections
      guard !sections.isEmpty else { return IndexPath(indexes: [0, index]) }
      let section = SortedEntries.partition(sections.count) { sections[$0].range.upperBound <= index }
      return IndexPath(indexes: [section, index - sections[section].range.lowerBound])
    }
  }

  /// Returns the objects of the state, and whether each record has an object of the context. For another record the
  /// result has the element of the list: the object of a deleted or unavailable record.
  private func makeObjects() -> (objects: [Result], areComplete: Bool) {
    let ids = state?.visibleEntries.map(\.id) ?? []
    // The objects are loaded together. A record whose delete the context has not processed yet is a fault.
    let loaded = (try? managedObjectContext.objects(for: ids, as: ManagedObject.self)) ?? []
    return withExtendedLifetime(loaded) {
      var objects: [Result] = []
      objects.reserveCapacity(ids.count)
      var areComplete = true
      for (index, id) in ids.enumerated() {
        if let object = object(of: id) {
          objects.append(object)
        } else {
          objects.append(fetchedList[index])
          areComplete = false
        }
      }
      return (objects: objects, areComplete: areComplete)
    }
  }

  private func object(of id: ManagedObjectID) -> Result? {
    let context = managedObjectContext
    return (context.storage.registry.object(for: id) ?? (try? context.fault(for: id, of: id.entity))) as? Result
  }
}

extension FetchedResultsController: ResultSink {
  func receive(_ delivery: ResultDelivery, in context: ManagedObjectContext) {
    guard let former = state else { return setState(delivery) }
    let difference = ResultDifference(
      from: former, to: delivery.state, delivery.touched, renamed: delivery.renamed)
    guard !difference.isEmpty else { return setState(delivery) }
    let changes = ResultChanges<Result>(difference)
    let fetchCount = fetchCount
    delegate?.controllerWillChangeContent(self)
    // The delegate may have run the request again. The result of that run is newer than this delivery.
    guard fetchCount == self.fetchCount else { return }
    setState(delivery)
    if resetCount != context.storage.resetCount {
      objects = nil
    } else if let list = objects {
      // The property releases its reference, so that the array is changed in place.
      objects = nil
      objects = applied(changes, to: list)
    }
    delegate?.controller(self, didChange: changes)
    delegate?.controllerDidChangeContent(self)
  }

  func replaceObjects(of state: ResultState, in context: ManagedObjectContext) { objectsDetached?() }

  private func setState(_ delivery: ResultDelivery) {
    retainUnsaved(delivery)
    setState(delivery.state)
    if let live { self.live = (live.result, live.result.changeCount) }
  }

  /// Retains the objects of unsaved records that entered the result, and releases those of other records.
  private func retainUnsaved(_ delivery: ResultDelivery) {
    let storage = managedObjectContext.storage
    guard !unsaved.isEmpty || storage.unsaved.count > 0 else { return }
    guard !delivery.state.isRange else {
      // The touched entries leave out the records that come into the range by the delete of another record.
      unsaved = [:]
      for entry in delivery.state.visibleEntries where entry.id.isTemporaryID {
        unsaved[entry.id] = storage.registry.object(for: entry.id)
      }
      return
    }
    for (old, new) in delivery.touched.pairs {
      if let id = new?.id, id.isTemporaryID { unsaved[id] = storage.registry.object(for: id) }
      if let id = old?.id, id.isTemporaryID, new == nil { unsaved[id] = nil }
    }
  }

  /// Returns the objects after changes; `nil` if an object is missing, so that the next access looks all objects up
  /// again.
  private func applied(_ changes: ResultChanges<Result>, to list: consuming [Result]) -> [Result]? {
    var list = list
    guard list.count == changes.former.count else { return nil }
    do {
      try changes.apply(to: &list) { id in
        guard let object = object(of: id) else { throw MissingObject() }
        return object
      }
      return list
    } catch {
      return nil
    }
  }

  func end(_ error: (any Error)?) {
    guard let error else { return }
    delegate?.controller(self, didFail: error)
  }
}

/// Thrown for a record without an object of the controller's class.
private struct MissingObject: Error {}
