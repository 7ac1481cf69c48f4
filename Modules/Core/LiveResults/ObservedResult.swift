public import Observation

/// The result of a request for frameworks that track what they read: a reader that Swift's Observation tracks (a view,
/// `withObservationTracking`) is notified of the next change of the result.
///
/// ```swift
/// let tracks = try context.observed(FetchRequest(Track.self).sort(\.title))
/// withObservationTracking { list.titles = tracks.objects.map(\.title) } onChange: { scheduleUpdate() }
/// ```
/// The result changes at the moments at which ``ManagedObjectContext/values(of:sectionKeyPath:followingOtherProcesses:)``
/// shows a state. A change of a listed record's values counts as a change of ``objects``.
///
/// Made by ``ManagedObjectContext/observed(_:sectionKeyPath:)``. Used inside its context, which calls the readers back there:
/// on the main actor for a main-queue context. Retains the context, and objects as ``FetchedResultsController`` does. Cost: as
/// ``FetchedResultsController``.
public final class ObservedResult<Result: ManagedObject>: Observable {
  private let controller: FetchedResultsController<Result>
  private let registrar = ObservationRegistrar()
  private let follower = ResultFollower<Result>()
  private var failure: (any Error)?

  /// - Throws: As ``ManagedObjectContext/observed(_:sectionKeyPath:)``.
  init(_ request: FetchRequest<Result>, in context: ManagedObjectContext, sectionKeyPath: String?) throws {
    controller = FetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionKeyPath: sectionKeyPath)
    try controller.performFetch()
    follower.result = self
    controller.delegate = follower
  }

  /// The objects of the result, in order. For a request with a batch size, ``list`` is the better choice: see
  /// ``FetchedResultsController/fetchedObjects``.
  public var objects: [Result] {
    registrar.access(self, keyPath: \.objects)
    return controller.fetchedObjects
  }

  /// The objects of the result as a collection that loads them by pages, of ``FetchRequest/fetchBatchSize`` records if the
  /// request has one. A reader of the list is notified as a reader of ``objects``.
  public var list: ObjectList<Result> {
    registrar.access(self, keyPath: \.objects)
    return controller.fetchedList
  }

  /// The sections of the result, in order; empty without a section key path.
  public var sections: [ResultSection] {
    registrar.access(self, keyPath: \.sections)
    return controller.sections
  }

  /// The error that ended the observation: of a read that failed, or ``ErrorCode/storeDetached``. `nil` as long as changes
  /// are followed. The last result stays.
  public var error: (any Error)? {
    registrar.access(self, keyPath: \.error)
    return failure
  }

  fileprivate func willChange() {
    registrar.willSet(self, keyPath: \.objects)
    registrar.willSet(self, keyPath: \.sections)
  }

  fileprivate func didChange() {
    registrar.didSet(self, keyPath: \.sections)
    registrar.didSet(self, keyPath: \.objects)
  }

  fileprivate func didFail(_ error: any Error) {
    registrar.withMutation(of: self, keyPath: \.error) { failure = error }
  }
}

/// Tells a result of the changes of its controller, so that the result itself has no methods of a delegate.
private final class ResultFollower<Result: ManagedObject>: FetchedResultsControllerDelegate {
  weak var result: ObservedResult<Result>?

  func controllerWillChangeContent(_ controller: FetchedResultsController<Result>) { result?.willChange() }
  func controllerDidChangeContent(_ controller: FetchedResultsController<Result>) { result?.didChange() }
  func controller(_ controller: FetchedResultsController<Result>, didFail error: any Error) { result?.didFail(error) }
}

extension ManagedObjectContext {
  /// Returns the result of a request for frameworks that track what they read, such as views; see ``ObservedResult``.
  ///
  /// To be called inside the context. Runs the request.
  ///
  /// - Parameter sectionKeyPath: The path of the request's first sort key, if the result has sections: records with an
  ///   equal value are one section.
  /// - Throws: Errors of the fetch; ``ErrorCode/invalidFetchRequest`` for a section key path that is not the path of the
  ///   first sort key.
  public final func observed<Result: ManagedObject>(
    _ request: FetchRequest<Result>, sectionKeyPath: String? = nil
  ) throws -> ObservedResult<Result> {
    try ObservedResult(request, in: self, sectionKeyPath: sectionKeyPath)
  }
}
