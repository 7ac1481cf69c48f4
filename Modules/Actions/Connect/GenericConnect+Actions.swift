import CoherenceCore
import CoherenceStrategies
import Synchronization

extension GenericConnect: ActionManager {
  @discardableResult
  public final func execute<A: GenericAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> any ActionProxy {
    let work = ActionWork.blocking { _ in try action.execute() }
    return submit(action, work, to: genericActions, completionBlock)
  }

  @discardableResult
  public final func execute<A: EntityAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> any ActionProxy {
    let queue = try queue(entityName: action.entityName, objectClass: A.ManagedObjectType.self)
    let work = ActionWork.blocking { [weak self] execution in
      try action.execute(context: try Self.context(of: self, for: execution))
    }
    return submit(action, work, to: queue, completionBlock)
  }

  @discardableResult
  public final func execute<A: AsyncGenericAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<A.Output> {
    let output = ActionOutput<A.Output>()
    let work = ActionWork.asynchronous { _ in output.value = try await action.execute() }
    return ActionHandle(execution: submit(action, work, to: genericActions, completionBlock), output: output)
  }

  @discardableResult
  public final func execute<A: AsyncEntityAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<A.Output> {
    let queue = try queue(entityName: action.entityName, objectClass: A.ManagedObjectType.self)
    let output = ActionOutput<A.Output>()
    let work = ActionWork.asynchronous { [weak self] execution in
      output.value = try await action.execute(context: try Self.context(of: self, for: execution))
    }
    return ActionHandle(execution: submit(action, work, to: queue, completionBlock), output: output)
  }

  private func submit(
    _ action: some Action, _ work: ActionWork, to queue: ActionQueue,
    _ completion: (@Sendable (any ActionProxy) -> Void)?
  ) -> ActionExecution {
    let execution = ActionExecution(action: action, work: work, events: events, completion: completion)
    queue.add(execution)
    return execution
  }

  /// The queue of an entity's hierarchy.
  private func queue(entityName: String?, objectClass: ManagedObject.Type) throws -> ActionQueue {
    let entity =
      entityName.map { managedObjectModel.entitiesByName[$0] } ?? (try? managedObjectModel.entity(for: objectClass))
    if let entity, let queue = state.withLock({ $0.queue(for: entity) }) { return queue }
    let name = entity?.name ?? entityName ?? "\(objectClass)"
    throw CoherenceError(.unmanagedEntity, "Entity '\(name)' not managed by Connect")
  }

  /// The context of an execution that begins.
  private static func context(of connect: GenericConnect?, for execution: ActionExecution) throws -> ActionContext {
    guard let connect else {
      throw CoherenceError(.illegalState, "The Connect is gone; keep it while its actions are to be executed.")
    }
    let context = connect.newActionContext()
    context.execution = execution
    execution.count(with: context.counter)
    return context
  }
}
