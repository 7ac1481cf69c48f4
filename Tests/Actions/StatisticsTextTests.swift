import CoherenceCore
import Foundation
import Testing

@testable import CoherenceActions

@Suite("Texts and sums of statistics")
struct StatisticsTextTests {
  private var context: ContextStatistics {
    var context = ContextStatistics()
    context.inserts = 1
    context.updates = 2
    context.deletes = 3
    context.fetches = 4
    context.contextBlockTime = 7
    context.fetchTime = 1.5
    context.saveTime = 2.5
    return context
  }

  private let start = Date(timeIntervalSinceReferenceDate: 0)

  private var statistics: ActionStatistics {
    ActionStatistics(startTime: start, finishTime: start.addingTimeInterval(2), attempts: 1)
  }

  @Test func `the text of statistics has a line for each fact`() {
    var statistics = statistics
    statistics.joins = 2
    statistics.isReplaced = true
    statistics.hasUnsavedChanges = true
    statistics.contextStatistics = context
    #expect(
      statistics.description == """
        {
          executionTime: 2.0000
          startTime: \(start)
          finishTime: \(start.addingTimeInterval(2))
          joins: 2
          replaced: true
          unsavedChanges: true
          context: {
            blockTime: 7.0000
            saveTime: 2.5000 { inserts: 1, updates: 2, deletes: 3 }
            fetchTime: 1.5000 { fetches: 4 }
            otherTime: 3.0000
          }
        }
        """)
  }

  @Test func `the summary names what differs from one plain attempt`() {
    #expect(statistics.summary == "2.0000 s")
    var full = statistics
    full.attempts = 2
    full.joins = 1
    full.isReplaced = true
    full.contextStatistics = context
    #expect(
      full.summary == "2.0000 s, 2 attempts, joined 1 times, replaced by an equal action, 1 inserted, 2 updated, "
        + "3 deleted, 4 fetched, 2.5000 s saving, 1.5000 s fetching")
  }

  @Test func `the other time of a context is never negative`() {
    var statistics = ContextStatistics()
    statistics.fetchTime = 2
    statistics.saveTime = 2
    #expect(statistics.otherTime == 0)
    statistics.contextBlockTime = 5
    #expect(statistics.otherTime == 1)
  }

  @Test func `a counter adds up the records and times of each kind of activity`() {
    let counter = ContextActivityCounter()
    counter.contextDid(.block, in: .seconds(10))
    counter.contextDid(.fetch(records: 2), in: .seconds(3))
    counter.contextDid(.fetch(records: 1), in: .seconds(1))
    for _ in 0..<2 { counter.contextDid(.save(inserted: 1, updated: 2, deleted: 3), in: .seconds(2)) }
    let counted = counter.statistics
    #expect(counted.inserts == 2 && counted.updates == 4 && counted.deletes == 6 && counted.fetches == 3)
    #expect(counted.contextBlockTime == 10 && counted.fetchTime == 4 && counted.saveTime == 4)
    counter.add(context)
    let sum = counter.statistics
    #expect(sum.inserts == 3 && sum.updates == 6 && sum.deletes == 9 && sum.fetches == 7)
    #expect(sum.contextBlockTime == 17 && sum.fetchTime == 5.5 && sum.saveTime == 6.5)
  }
}
