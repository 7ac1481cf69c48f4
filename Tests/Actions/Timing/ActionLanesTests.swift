import Testing

@testable import CoherenceActions

@Suite("The lanes of a queue")
struct ActionLanesTests {
  /// Has a lane end short actions in a row and begin another action.
  private func runShortActions(_ count: Int, in lane: Int, _ lanes: inout ActionLanes<IdleAction>) {
    lanes.start(IdleAction(), in: lane)
    for _ in 0..<count {
      let continues = lanes.mayContinue(lane, afterShort: true)
      #expect(continues)
      lanes.start(IdleAction(), in: lane)
    }
  }

  @Test func `a lane wakes another one until it has ended four short actions in a row`() {
    var lanes = ActionLanes<IdleAction>(3)
    runShortActions(3, in: 0, &lanes)
    let woken = (lanes.wakeOne(), lanes.wakeOne())
    #expect(woken == (1, nil), "The woken lane has not started yet.")
    lanes.makeIdle(1)
    runShortActions(1, in: 0, &lanes)
    let wokenByStreak = lanes.wakeOne()
    #expect(wokenByStreak == nil)
    let continues = lanes.mayContinue(0, afterShort: false)
    #expect(continues)
    lanes.start(IdleAction(), in: 0)
    let wokenAfterLongAction = lanes.wakeOne()
    #expect(wokenAfterLongAction == 1)
  }

  @Test func `the second of two lanes with short actions in a row becomes idle`() {
    var lanes = ActionLanes<IdleAction>(2)
    runShortActions(4, in: 0, &lanes)
    runShortActions(3, in: 1, &lanes)
    let continues = lanes.mayContinue(1, afterShort: true)
    #expect(!continues && lanes.running.count == 1 && lanes.hasIdle)
  }

  @Test func `a long action after short ones wakes another lane at the second check`() {
    var lanes = ActionLanes<IdleAction>(2)
    runShortActions(4, in: 0, &lanes)
    lanes.endStalledStreaks()
    let wokenAtFirstCheck = lanes.wakeOne()
    #expect(wokenAtFirstCheck == nil, "The lane has started actions since the previous check.")
    lanes.endStalledStreaks()
    let wokenAtSecondCheck = lanes.wakeOne()
    #expect(wokenAtSecondCheck == 1)
  }

  @Test func `a lane has a streak from the fourth short action until a long action, a stall, or the end of its work`() {
    var lanes = ActionLanes<IdleAction>(2)
    runShortActions(3, in: 0, &lanes)
    #expect(!lanes.hasStreak)
    runShortActions(1, in: 0, &lanes)
    #expect(lanes.hasStreak)
    _ = lanes.mayContinue(0, afterShort: false)
    #expect(!lanes.hasStreak)
    runShortActions(4, in: 0, &lanes)
    lanes.endStalledStreaks()
    #expect(lanes.hasStreak)
    lanes.endStalledStreaks()
    #expect(!lanes.hasStreak)
    runShortActions(4, in: 0, &lanes)
    lanes.makeIdle(0)
    #expect(!lanes.hasStreak && lanes.hasIdle && lanes.running.isEmpty)
  }
}
