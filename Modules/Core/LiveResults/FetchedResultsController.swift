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
/// The controller retains its context and the objects of the result. Releasing the controller ends its work. Cost: as
/// ``ManagedObjectContext/values(of:sectionKeyPath:followingOtherProcesses:)``, with the objects in addition.
public final class FetchedResultsController<Result: ManagedObject> {
  /// The request of the controller.
  public let fetchRequest: FetchRequest<Result>
  /// The context of the objects.
  public let managedObjectContext: ManagedObjectContext
  /// The path of the first sort key, by whose values the result has sections; `nil` for a result without sections.
  public let sectionKeyPath: String?
  /// Receives the changes. Not retained.
  public weak var delegate: (any FetchedResultsControllerDelegate<Result>)?

  /// The number of calls of ``performFetch()``.
  private var fetchCount = 0
  private var state: ResultState?
  private var objects: [Result]?
  private var resetCount = 0
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
      (state, objects, positions) = (nil, nil, nil)
      fetchCount += 1
      let request = try CheckedRequest(fetchRequest, sectionKeyPath: sectionKeyPath, in: coordinator)
      try results?.add(request, for: self, in: managedObjectContext)
    }
  }

  // MARK: Result

  /// The objects of the result, in order; empty before ``performFetch()``.
  public var fetchedObjects: [Result] {
    managedObjectContext.operating {
      if let objects, resetCount == managedObjectContext.storage.resetCount { return objects }
      let made = makeObjects()
      objects = made
      resetCount = managedObjectContext.storage.resetCount
      return made
    }
  }

  /// The sections of the result, in order; empty without a section key path.
  public var sections: [ResultSection] { managedObjectContext.operating { state?.sectionList ?? [] } }

  /// The identifiers of the result, for any thread; `nil` before ``performFetch()``.
  public var snapshot: ResultSnapshot<Result>? { managedObjectContext.operating { state.map { ResultSnapshot($0) } } }

  /// The object at an index of the result.
  ///
  /// - Precondition: The result has the index.
  public func object(at index: Int) -> Result { fetchedObjects[index] }

  /// The object at a section and an index in the section, or at the section 0 of a result without sections.
  ///
  /// - Precondition: The index path has two indexes, and the result has them.
  public func object(at indexPath: IndexPath) -> Result {
    managedObjectContext.operating {
      let sections = sections
      return fetchedObjects[(sections.isEmpty ? 0 : sections[indexPath[0]].range.lowerBound) + indexPath[1]]
    }
  }

  /// The index of an object in the result; `nil` for an object outside of the result. The cost of the first call after
  /// a change grows with the size of the result; further calls are constant.
  public func index(for object: Result) -> Int? {
    managedObjectContext.operating {
      let id = managedObjectContext.current(object.objectID)
      if positions == nil {
        positions = Dictionary((state?.visibleEntries ?? []).enumerated().map { ($1.id, $0) }) { first, _ in first }
      }
      return positions?[id]
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

  private func makeObjects() -> [Result] {
    let ids = state?.visibleEntries.map(\.id) ?? []
    // The objects are loaded together. A record whose delete the context has not processed yet is a fault.
    let loaded = (try? managedObjectContext.objects(for: ids, as: ManagedObject.self)) ?? []
    return withExtendedLifetime(loaded) { ids.compactMap { object(of: $0) } }
  }

  private func object(of id: ManagedObjectID) -> Result? {
    let context = managedObjectContext
    return (context.storage.registry.object(for: id) ?? (try? context.fault(for: id, of: id.entity))) as? Result
  }
}

extension FetchedResultsController: ResultSink {
  func receive(_ delivery: ResultDelivery, in context: ManagedObjectContext) {
    guard let former = state else { return state = delivery.state }
    let difference = ResultDifference(
      from: former, to: delivery.state, delivery.touched, renamed: delivery.renamed)
    guard !difference.isEmpty else { return state = delivery.state }
    let changes = ResultChanges<Result>(difference)
    let fetchCount = fetchCount
    delegate?.controllerWillChangeContent(self)
    // The delegate may have run the request again. The result of that run is newer than this delivery.
    guard fetchCount == self.fetchCount else { return }
    state = delivery.state
    positions = nil
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

/// Thrown for a record whose object does not have the controller's class.
private struct MissingObject: Error {}
