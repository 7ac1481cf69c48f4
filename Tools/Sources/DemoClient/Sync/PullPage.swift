import Coherence
import DemoService

/// Fetches one page of packages and merges it. One transaction saves the page, so that a crash never leaves a part of
/// it.
struct PullPage: AsyncEntityAction {
  typealias ManagedObjectType = Package

  struct Output: Sendable {
    let answer: PageAnswer
    let changes: Changes
  }

  let service: ServiceClient
  let page: Int
  let size: Int

  func execute(context: ActionContext) async throws -> Output {
    let answer = try await service.page(page, size: size)
    let packages = answer.content.packages
    return Output(answer: answer, changes: try await context.perform { try context.mergePackages(packages) })
  }
}
