//! The last word on a call: the forms that always answer, and what is left where no form does.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::super::Kind;
use super::Chain;
use crate::event::Served;
use crate::guard::Calling;
use crate::ops::{Ops, Refuses};
use crate::rejection::Rejection;
use crate::served::Freshness;

impl<O: Ops> Chain<O> {
    /// The last form `value`. An operator's `fail = "closed"` is obeyed where there is an error to return instead.
    pub fn value(mut self, form: usize, make: impl FnOnce() -> O::Value) -> O::Return {
        self.form = form;
        if !O::PLAIN && !self.may_answer() {
            return self.give_up();
        }
        match catch_unwind(AssertUnwindSafe(make)) {
            Ok(value) => {
                let answer = self.ops.succeed(value);
                self.serve(Kind::Value, answer, Freshness::Fallback)
            }
            Err(panic) => {
                self.panicked(panic);
                self.give_up()
            }
        }
    }

    /// The last form `refuse`: a failed call keeps its own error, a rejected one gets the error made here.
    pub fn refuse(mut self, form: usize, make: impl FnOnce(Rejection) -> O::Error) -> O::Return
    where
        O: Refuses,
    {
        self.form = form;
        self.end(Some(Kind::Refuse), Served::Error);
        if let Some(rejection) = self.rejection.take() {
            return self.ops.fail(make(rejection));
        }
        if let Some(own) = self.own.take() {
            return own;
        }
        if let Some((_, error)) = self.error.take() {
            return self.ops.fail(error);
        }
        match self.cut_short() {
            Some(rejection) => self.ops.fail(make(rejection)),
            None => self.go_on_unwinding(),
        }
    }

    /// The last form `none`.
    pub fn none(mut self, form: usize) -> O::Return
    where
        O: Refuses,
    {
        self.form = form;
        self.end(Some(Kind::None), Served::Error);
        self.give_up()
    }

    /// The last form was a `path`, a `with` or a `stale`, and did not answer.
    pub fn dry(mut self) -> O::Return
    where
        O: Refuses,
    {
        let last = self
            .call
            .call()
            .and_then(Calling::site)
            .map(|site| site.spec().forms.len());
        match self.error.take() {
            Some((form, error)) if last == Some(form + 1) => {
                self.end(None, Served::Error);
                self.ops.fail(error)
            }
            error => {
                self.error = error;
                self.give_up()
            }
        }
    }

    /// No form answered and none is left: the body's own error, the rejection, and only then what is left when a `with`
    /// had taken the former.
    fn give_up(mut self) -> O::Return {
        self.end(None, Served::Error);
        if let Some(own) = self.own.take() {
            return own;
        }
        if let Some(rejected) = self.rejection.take().and_then(|rejection| self.ops.reject(rejection)) {
            return rejected;
        }
        if let Some((_, error)) = self.error.take() {
            return self.ops.fail(error);
        }
        match self.cut_short().and_then(|rejection| self.ops.reject(rejection)) {
            Some(rejected) => rejected,
            None => self.go_on_unwinding(),
        }
    }

    /// The one case without anything to return: the body's error went into a `with` that panicked, or a function
    /// without `Result` was rejected and its `value` panicked.
    fn go_on_unwinding(self) -> O::Return {
        match self.panic {
            Some(panic) => resume_unwind(panic),
            // The macros end a chain that cannot be refused with `value` or `refuse`, which leave by the line above.
            None => unreachable!("a chain has an error, a rejection or a panic to give"),
        }
    }
}
