import Coherence
import DemoService

/// Notes in the session's store what a page was like. An action that blocks: it runs on a thread of its own.
struct RecordPage: EntityAction {
  typealias ManagedObjectType = PageFetch

  let answer: PageAnswer

  func execute(context: ActionContext) throws {
    let record = MergeRecord([
      "page": answer.content.page, "etag": answer.etag, "packages": answer.content.packages.count,
      "bytes": answer.bytes, "seconds": answer.seconds,
    ])
    try context.performAndWait {
      _ = try context.merge(
        records: [record], for: try context.entity(for: PageFetch.self), options: MergeOptions(mode: .upsertOnly))
    }
  }
}
