/// Keeps the live results of a context up to date. Used inside the context.
final class ContextLiveResults: TurnObserver {
  let inbox: LiveInbox
  private var results: [LiveResult] = []
  /// The work of the results so far.
  private(set) var work = LiveWork()
  /// The tasks that receive signals of other processes; empty if no result follows other processes.
  private var signalTasks: [Task<Void, Never>] = []

  private init(_ context: ManagedObjectContext, _ handle: ContextHandle) {
    inbox = LiveInbox(handle, context.storage.confinement)
    inbox.follow(context.lease.followedChanges)
    var ancestor: ManagedObjectContext? = context
    while let current = ancestor {
      current.addTouchReceiver(inbox)
      ancestor = current.parent
    }
  }

  deinit {
    for task in signalTasks { task.cancel() }
    for result in results { result.sink?.end(nil) }
  }

  /// Returns the live results of a context, made on the first call. Called inside the context.
  static func of(_ context: ManagedObjectContext) -> ContextLiveResults? {
    if let results = context.turnObserver as? ContextLiveResults { return results }
    guard let handle = context.storage.handle else { return nil }
    let results = ContextLiveResults(context, handle)
    context.turnObserver = results
    return results
  }

  /// Runs a request, delivers its result, and keeps the result up to date as long as the sink exists.
  ///
  /// - Throws: Errors of the fetch.
  @discardableResult
  func add(
    _ request: CheckedRequest, for sink: any ResultSink, in context: ManagedObjectContext
  ) throws -> LiveResult {
    // The inbox receives changes before the first run, so that a save during the run is not missed.
    context.persistentStoreCoordinator?.storeEventHub.add(inbox)
    let result = LiveResult(request, for: sink)
    results.append(result)
    shareInterests()
    inbox.markUncertain()
    // The run reads the state of the unit of work. A save after that state has not been posted, unless it concerns an
    // earlier result. A pinned snapshot has the requests run again when it moves.
    if context.lease.pin == nil, context.lease.precedesSave { inbox.runAgain() }
    do {
      try result.run(in: context, &work)
    } catch {
      remove(in: context) { $0 === result }
      throw error
    }
    result.publish(in: context, isFirst: true)
    return result
  }

  /// Ends the results of a sink.
  func remove(_ sink: any ResultSink, in context: ManagedObjectContext) { remove(in: context) { $0.sink === sink } }

  /// Removes results. A context without results receives no changes of the stores.
  private func remove(in context: ManagedObjectContext, _ isRemoved: (LiveResult) -> Bool) {
    for result in results where isRemoved(result) { result.end() }
    results.removeAll(where: \.isEnded)
    shareInterests()
    guard results.isEmpty else { return }
    context.persistentStoreCoordinator?.storeEventHub.remove(inbox)
    for task in signalTasks { task.cancel() }
    signalTasks = []
  }

  /// Runs the requests of all results again after each signal of a channel of the stores.
  func follow(_ stream: AsyncStream<Void>) {
    guard signalTasks.isEmpty else { return }
    signalTasks.append(
      Task { [inbox] in for await _ in stream { inbox.receive(.everything) } })
  }

  private func shareInterests() { inbox.setInterests(results.map(\.interest)) }

  /// Removes the results whose sinks were released.
  private func dropReleased(in context: ManagedObjectContext) {
    if results.contains(where: { $0.sink == nil }) { remove(in: context) { $0.sink == nil } }
  }

  // MARK: Turns

  func turnBegan(in context: ManagedObjectContext) {
    // The reads of the block see the lists that the merge of other contexts' saves has dropped.
    if context.parent != nil { context.sendTouched() }
    processInbox(of: context)
  }

  func turnContinues(in context: ManagedObjectContext) {
    guard inbox.hasOnlyTouched else { return }
    dropReleased(in: context)
    process(inbox.take(), of: context)
  }

  func turnEnds(in context: ManagedObjectContext) { processInbox(of: context) }

  func turnEnded(in context: ManagedObjectContext) {
    inbox.requestTurn()
  }

  func snapshotChanged(in context: ManagedObjectContext) {
    inbox.follow(context.lease.followedChanges)
    // The requests run again in the state that the context reads now.
    if context.lease.followedChanges != .none, !results.isEmpty { inbox.runAgain() }
  }

  private func processInbox(of context: ManagedObjectContext) {
    dropReleased(in: context)
    guard !inbox.isEmpty else { return }
    let content = inbox.take()
    // The leased state of the stores may be older than the posted changes, so that the lease ends here.
    context.lease.end()
    // A save posts its rows to the inbox of other contexts before it posts to the live results.
    context.processInbox()
    process(content, of: context)
  }

  private func process(_ taken: LiveInbox.Content, of context: ManagedObjectContext) {
    var content = taken
    if !signalTasks.isEmpty { content.isUncertain = true }
    try? context.applyReadableDeleteRules()
    // A receiver of a delivery may end other results, or run their requests again.
    for result in results where !result.isEnded {
      let only = result.interest.only
      do {
        if result.reads(anyOf: content.detached) {
          throw CoherenceError(
            .storeDetached, "A store of a live result was detached; attach the store and ask for the result again.")
        }
        try context.inOneState { try result.process(content, in: context, &work) }
        if result.interest.only != only { shareInterests() }
        // A receiver of the delivery may make the objects of the records, which the context then shows already.
        noteEntered(result, in: context)
        result.publish(in: context)
        result.publishReset(in: context)
      } catch  where error.isCancellationOfTask {
        // The turn belongs to a cancelled task, whose reads fail. The result waits for the next turn.
        inbox.postpone()
      } catch {
        remove(in: context) { $0 === result }
        result.sink?.end(error)
      }
    }
  }

  /// Adds the records of other writers that entered a result to the next notification of changed objects, which
  /// reports too many of them as "everything may have changed". The context shows these records for the first time.
  private func noteEntered(_ result: LiveResult, in context: ManagedObjectContext) {
    let taken = result.takeEntered()
    guard context.showsSavesOfOthers else { return }
    guard let entered = taken else { return context.events.noteEverything() }
    for state in entered {
      guard case .row(let row) = state.values, context.storage.registry.object(for: row.id) == nil else { continue }
      context.events.noteInserted(context.object(for: row))
    }
  }
}

extension Error {
  /// Whether a read failed because the running task is cancelled.
  var isCancellationOfTask: Bool {
    Task.isCancelled && (self is CancellationError || (self as? CoherenceError)?.code == .cancelled)
  }
}

extension ManagedObjectContext {
  /// The work of the context's live results. Read inside the context.
  package final var liveWork: LiveWork { (turnObserver as? ContextLiveResults)?.work ?? LiveWork() }
}
