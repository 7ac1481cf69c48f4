public import Observation

/// The result of a request, tracked by Swift's Observation: a reader (a view, `withObservationTracking`) is notified of
/// the next change of the result.
///
/// ```swift
/// let tracks = try context.observed(FetchRequest(Track.self).sort(\.title))
/// withObservationTracking { list.titles = tracks.objects.map(\.title) } onChange: { scheduleUpdate() }
/// ```
/// The result changes whenever ``ManagedObjectContext/values(of:sectionKeyPath:followingOtherProcesses:)`` would return
/// a state. A change of a listed record's values counts as a change of ``objects``, and so does a reset of the context,
/// which replaces the objects.
///
/// ``ManagedObjectContext/observed(_:sectionKeyPath:)`` makes it. To be used inside its context, where the readers are
/// notified too: on the main actor for a main-queue context. Retains the context, and objects as a
/// ``FetchedResultsController`` does. Costs as much as a ``FetchedResultsController``.
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
    controller.objectsDetached = { [weak self] in self?.didReset() }
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

  /// The error that ended the observation: the error of a failed read, or ``ErrorCode/storeDetached``; `nil` before the
  /// end. The last result stays.
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

  /// Notifies the readers of the objects, which have objects of no context after a reset.
  private func didReset() { registrar.withMutation(of: self, keyPath: \.objects) {} }

  fileprivate func didFail(_ error: any Error) {
    registrar.withMutation(of: self, keyPath: \.error) { failure = error }
  }
}

/// The delegate of a result's controller. A type of its own, so that the public result has no delegate methods.
private final class ResultFollower<Result: ManagedObject>: FetchedResultsControllerDelegate {
  weak var result: ObservedResult<Result>?

  func controllerWillChangeContent(_ controller: FetchedResultsController<Result>) { result?.willChange() }
  func controllerDidChangeContent(_ controller: FetchedResultsController<Result>) { result?.didChange() }
  func controller(_ controller: FetchedResultsController<Result>, didFail error: any Error) { result?.didFail(error) }
}

extension ManagedObjectContext {
  /// Returns the result of a request, tracked by Swift's Observation, for example for views; see ``ObservedResult``.
  ///
  /// To be called inside the context. Runs the request.
  ///
  /// - Parameter sectionKeyPath: The path of the request's first sort key, if the result has sections: records with an
  ///   equal value are one section.
  /// - Throws: Errors of the fetch; ``ErrorCode/invalidFetchRequest`` for a section key path other than the path of the
  ///   first sort key.
  public final func observed<Result: ManagedObject>(
    _ request: FetchRequest<Result>, sectionKeyPath: String? = nil
  ) throws -> ObservedResult<Result> {
    try ObservedResult(request, in: self, sectionKeyPath: sectionKeyPath)
  }
}
